/** The pages of a report: everything is in the file. */
import type { ReportBoot } from "../data/boot.ts";
import { Frame } from "../frame.tsx";
import { PageHeading } from "../parts/notes.tsx";
import { route } from "../router.ts";
import { placeOf } from "../routes.ts";

export function ReportApp(_props: { boot: ReportBoot }) {
  return (
    <Frame navigation={[]} place={placeOf(route.value)}>
      <PageHeading>Runs</PageHeading>
    </Frame>
  );
}
