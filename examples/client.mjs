// A client of `agent-jobs serve`: starts a job, and follows it to its end.
//   node examples/client.mjs JOB [FOLDER [USER_INPUT]]
const { AGENT_JOBS_URL: url = "http://127.0.0.1:8888", AGENT_JOBS_TOKEN: token } = process.env;
const [job = "", folder = process.cwd(), input = ""] = process.argv.slice(2);
const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
const call = async (route, body) =>
  (await fetch(`${url}/api/copilot/job/${route}`, { method: "POST", headers, body })).json();

const { jobId, error, reason } = await call(
  `start/${encodeURIComponent(job)}`,
  `${folder}\n${input}`,
);
if (error !== undefined) throw new Error(reason ?? error);
for (let end = false; !end;) {
  const answer = await call(`${jobId}/live`);
  end = answer.error !== undefined && answer.error !== "HttpRequestTimeout";
  if (answer.error === undefined) console.log(JSON.stringify(answer));
  if (answer.callback === "jobFailed" || answer.callback === "jobCanceled") process.exitCode = 1;
}
