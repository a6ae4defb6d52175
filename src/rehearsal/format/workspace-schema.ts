/** The part of the schema about the folder that a rehearsal makes for itself. */
export const workspace = {
  type: "object",
  description:
    "Instead of `workingDirectory`: a new folder with these files, removed after the run. A rehearsal of a job that writes files then depends on no other files and changes none.",
  additionalProperties: false,
  properties: {
    files: {
      type: "object",
      description: "The content of each file, by its path in the folder.",
      additionalProperties: { type: "string" },
    },
    git: {
      type: "boolean",
      description:
        "Makes the folder a git repository with one commit of all files, on the branch main. Default: false; commits imply true.",
    },
    commits: {
      type: "array",
      minItems: 1,
      description:
        "Commits on top of that one, in this order. The branch of the last one is checked out, so that `git diff main...HEAD` shows its changes.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["message", "files"],
        properties: {
          message: { type: "string", minLength: 1, description: "The message." },
          branch: {
            type: "string",
            minLength: 1,
            description:
              "The branch. A new branch starts at the previous commit. Default: the branch of the previous commit; for the first commit, main.",
          },
          files: {
            type: "object",
            description: "The new content of each file, by its path; null removes the file.",
            additionalProperties: { type: ["string", "null"] },
          },
        },
      },
    },
  },
} as const;
