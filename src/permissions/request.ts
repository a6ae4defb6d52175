/** What an agent asks for, independent of the SDK and its texts. */
export type PermissionRequest =
  /** `paths` are names of one place; all of them have to be allowed. */
  | {
      readonly kind: "read";
      readonly paths: readonly string[];
      /** Whether it shows what lies below as well: a search in a folder. */
      readonly deep: boolean;
    }
  | {
      readonly kind: "write";
      /** Every file that would change, the source of a move included. */
      readonly paths: readonly string[];
    }
  | { readonly kind: "shell"; readonly command: string }
  | { readonly kind: "url"; readonly url: string }
  /** A tool of an MCP server is `server/tool`. */
  | { readonly kind: "tool"; readonly name: string }
  /** What we have no rule for: only the preset `all` allows it, and nothing does where `refusal` is set. */
  | {
      readonly kind: "other";
      readonly operation: string;
      readonly target: string;
      readonly refusal?: string;
    };
