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
        "Makes the folder a git repository with one commit of all the files. Default: false.",
    },
  },
} as const;
