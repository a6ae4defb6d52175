/** `npm run pictures [NAME…]` draws the pictures of the documentation again: readme, examples or page. */
const pictures: Readonly<Record<string, () => Promise<unknown>>> = {
  readme: () => import("./readme-picture.ts"),
  examples: () => import("./example-pictures.ts"),
  page: () => import("./screenshots.ts"),
};
const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : Object.keys(pictures)) await pictures[name]?.();
