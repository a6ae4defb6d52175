/** A server on which a script plays the models: the reader must know, and what it expects is filled in. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { PortalBoot } from "../../src/reports/html/boot.ts";
import { Icon } from "../parts/icon.tsx";

export const Rehearsal = createContext<PortalBoot["rehearsal"]>(undefined);

/** The input that the script expects, for a job that it was written for. */
export function useRehearsedInput(jobName: string): string {
  const rehearsal = useContext(Rehearsal);
  const isFor = rehearsal?.job === undefined || rehearsal.job === jobName;
  return isFor ? (rehearsal?.userInput ?? "") : "";
}

export function RehearsalNote() {
  const rehearsal = useContext(Rehearsal);
  if (rehearsal === undefined) return null;
  const { file, userInput } = rehearsal;
  return (
    <p class="note row" data-tone="warn">
      <Icon name="alert" size={16} />
      <span>
        This is a rehearsal: the script <code>{file}</code> plays the models, and anew for each run
        and session. Anything that it doesn’t expect fails
        {userInput === undefined ? (
          "."
        ) : (
          <>
            , such as an input other than <q>{userInput}</q>.
          </>
        )}
      </span>
    </p>
  );
}
