/** The part of the schema about the folder that a rehearsal works in. */
export const workspace = {
  type: "object",
  description:
    "A new folder with these files instead of `workingDirectory`, or what a copy of `workingDirectory` includes. Removed after the run.",
  additionalProperties: false,
  properties: {
    files: {
      type: "object",
      description: "Contents by path.",
      additionalProperties: { type: "string" },
    },
    include: {
      type: "array",
      minItems: 1,
      items: { type: "string", minLength: 1 },
      description:
        "Instead of files: ignored files and folders that a copy of the working directory includes, such as node_modules. Relative to the working directory.",
    },
    git: {
      type: "boolean",
      description:
        "Makes the folder a git repository, with one commit of all the files on the branch main. Default: true if there are commits, else false.",
    },
    commits: {
      type: "array",
      minItems: 1,
      description:
        "Further commits, in this order. The branch of the last one is checked out, so that `git diff main...HEAD` shows its changes.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["message", "files"],
        properties: {
          message: { type: "string", minLength: 1, description: "The commit message." },
          branch: {
            type: "string",
            minLength: 1,
            description:
              "The branch. A new branch starts at the previous commit. Default: the branch of the previous commit, or main.",
          },
          files: {
            type: "object",
            description: "New contents by path. null removes the file.",
            additionalProperties: { type: ["string", "null"] },
          },
        },
      },
    },
  },
} as const;
