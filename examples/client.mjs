// A client of `agent-jobs serve`: starts a job, and follows it to its end.
//   node examples/client.mjs JOB [FOLDER [USER_INPUT]]
const api = `${process.env.AGENT_JOBS_URL ?? "http://127.0.0.1:8888"}/api/copilot/job`;
const [job, folder = process.cwd(), input = ""] = process.argv.slice(2);
const call = async (route, body) =>
  (await fetch(`${api}/${route}`, { method: "POST", body })).json();

const { jobId, error } = await call(`start/${job}`, `${folder}\n${input}`);
if (error !== undefined) throw new Error(error);
let answer;
do {
  answer = await call(`${jobId}/live`);
  if (answer.error === undefined) console.log(JSON.stringify(answer));
} while (answer.error === undefined || answer.error === "HttpRequestTimeout");
