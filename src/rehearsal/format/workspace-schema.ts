/** The part of the schema about the folder that a rehearsal makes for itself. */
export const workspace = {
  type: "object",
  description:
    "Instead of `workingDirectory`: a new folder with these files, removed after the run. So a rehearsal of a job that writes needs nothing of its surroundings and changes nothing of them.",
  additionalProperties: false,
  properties: {
    files: {
      type: "object",
      description: "Path in the folder to content.",
      additionalProperties: { type: "string" },
    },
    git: {
      type: "boolean",
      description:
        "Makes the folder a git repository with one commit of all the files, on the branch main. Default: false, but with commits it is one in any case.",
    },
    commits: {
      type: "array",
      minItems: 1,
      description:
        "Commits on top of that one, in this order. The branch of the last one is checked out, so that `git diff main...HEAD` shows what was done on it.",
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
              "The branch. A new one begins at the commit before this one. Default: the branch of the commit before; of the first commit, main.",
          },
          files: {
            type: "object",
            description: "Path to its new content, or to null: the file is removed.",
            additionalProperties: { type: ["string", "null"] },
          },
        },
      },
    },
  },
} as const;
