import { urlOf } from "../text/guards.ts";
import type { Reporter } from "../events/sink.ts";
import { version } from "../generated/version.ts";
import { systemClock } from "../platform/system-clock.ts";
import { createTelemetry } from "../reports/otlp/telemetry.ts";
import { parseTraceparent } from "../reports/otlp/settings.ts";
import { providerTypeOf, withDefaults } from "../sessions/provider.ts";
import type { ModelAccess } from "./options-provider.ts";
import type { TelemetryTarget } from "./telemetry-target.ts";

export function telemetryReporter(
  target: TelemetryTarget,
  { environment, provider }: Pick<ModelAccess, "environment" | "provider">,
  parent = parseTraceparent(environment["TRACEPARENT"]),
): Reporter {
  return createTelemetry({
    ...target,
    environment,
    version,
    clock: systemClock,
    content:
      environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"]?.toLowerCase() === "true",
    provider:
      provider === undefined
        ? "github.copilot"
        : providerTypeOf[withDefaults(provider).type].telemetryName,
    server: urlOf(provider?.baseUrl ?? ""),
    parent,
  });
}
