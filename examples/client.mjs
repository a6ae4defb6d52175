// Starts a job on a running `agent-jobs serve` and follows it to its end.
//   node examples/client.mjs JOB [FOLDER [USER_INPUT]]
const server = process.env.AGENT_JOBS_URL ?? "http://127.0.0.1:8888";
const [job, folder = process.cwd(), input = ""] = process.argv.slice(2);

async function call(route, body = "") {
  const response = await fetch(`${server}/api/copilot/job/${route}`, { method: "POST", body });
  return response.json();
}

const { jobId, error } = await call(`start/${job}`, `${folder}\n${input}`);
if (error !== undefined) throw new Error(error);
for (let answer = {}; answer.error !== "JobsClosed";) {
  answer = await call(`${jobId}/live`);
  if (answer.error === "JobNotFound") throw new Error("The server no longer has the job.");
  if (answer.error === undefined) console.log(JSON.stringify(answer));
}
