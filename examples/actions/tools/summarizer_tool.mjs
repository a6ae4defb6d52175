// A report about a pull request, from its details and the result of its tests.
import { json } from "node:stream/consumers";

const { source, context } = await json(process.stdin);
const { title, author, files } = context;
const { passed, tests } = source;
const verdict = passed === tests ? "can be merged" : "needs work";
// A result that is not JSON is a text.
console.log(`"${title}" by ${author} changes ${files.length} files.`);
console.log(`${passed} of ${tests} tests pass. It ${verdict}.`);
