/** What tasks and works are made of. */

/** Lines of a prompt, joined with LF. A plain string counts as one item. */
export type Prompt = string | readonly string[];

/** A model by its category (a key of `Entry.models`) or by its id. */
export type Model = { readonly category: string } | { readonly id: string };
