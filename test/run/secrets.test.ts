import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { knownSecrets } from "../../src/run/secrets.ts";
import { delimiter } from "node:path";
import { allowedForPrograms, allowedOf } from "../../src/run/variables.ts";

describe("what counts as a secret", () => {
  it("is the value of each header for a collector of telemetry", () => {
    const headers = "api-key=0123456789, Authorization=Bearer%20abcdefgh";
    const found = knownSecrets({ environment: { OTEL_EXPORTER_OTLP_HEADERS: headers } });
    for (const secret of ["0123456789", "Bearer%20abcdefgh", "abcdefgh"])
      assert.ok(found.includes(secret), found.join());
    assert.ok(!found.includes("Bearer"));
  });

  const of = (name: string, value: string): readonly string[] =>
    knownSecrets({ environment: { [name]: value } });

  const secret =
    "MY_SECRET GITHUB_TOKEN INPUT_PROVIDER-API-KEY npm_config__authtoken AWS_ACCESS_KEY_ID PGPASSWORD GPG_PASSPHRASE DB_PASS GH_PAT PAT_OF_BOT SIGNING_KEY NPM_CONFIG__AUTH DB_PWD_OLD MYSQLPASS SLACK_WEBHOOK_URL SENTRY_DSN MY_JWT COOKIES X_AUTHKEY HTTP_AUTHORIZATION AUTH_HEADER OAUTH2_CLIENT CERT_PRIVATE_PEM WALLET_MNEMONIC PASSWORD_SALT STORAGE_SAS AZURE_STORAGE_CONNECTION_STRING DB_CONN_STR LOGIN_PIN GCP_CREDS";
  const harmless =
    "PATH PATHEXT COMPATIBLE KEYBOARD PASSED AUTHOR HOME PWD OLDPWD GIT_AUTHOR_NAME BYPASS COMPASS_DIR SPIN GOPRIVATE RANDOM_SEED MONKEY";
  it("is the value of a variable with the name of one", () => {
    for (const name of secret.split(" "))
      assert.deepEqual(of(name, "value-of-it"), ["value-of-it"], name);
    for (const name of harmless.split(" ")) assert.deepEqual(of(name, "value-of-it"), [], name);
  });

  it("is a value of four characters or more, if its name says so", () => {
    assert.deepEqual(of("MY_SECRET", "1234567"), ["1234567"]);
    assert.deepEqual(of("DB_PASS", "s3cr"), ["s3cr"]);
    assert.deepEqual(of("DB_PASS", "abc"), []);
    assert.deepEqual(of("DB_PASS", " abc  "), []);
    assert.deepEqual(of("REGION", "s3cr"), []);
  });

  it("is no short value that is a word of many texts, or a setting", () => {
    for (const [name, value] of [
      ["USE_TOKEN", "true"],
      ["SECRET_BRANCH", "main"],
      ["MAX_TOKENS", "4096"],
      ["TOKEN_TTL", "3600"],
      ["AUTH_TYPE", "oidc"],
      ["DB_PASSWORD", "Password"],
    ] as const) {
      const expected = value.length >= 8 ? [value] : [];
      assert.deepEqual(of(name, value), expected, name);
    }
  });

  it("is the password or key in a connection string, whatever the name of the variable is", () => {
    const database = "Server=db;User Id=me;Password=hunter2;Encrypt=true";
    assert.deepEqual(of("DB", database), ["hunter2", "hunter2"]);
    const queue = "Endpoint=sb://q/;SharedAccessKey=ab%2Bcd==";
    assert.deepEqual(of("QUEUE", queue), ["ab%2Bcd==", "ab+cd=="]);
  });

  it("is the password in a URL, whatever the name of the variable is, as written and decoded", () => {
    for (const [name, value, ...expected] of [
      [
        "DATABASE_URL",
        "postgres://shop:pass%2Fword-1@db:5432/shop",
        "pass%2Fword-1",
        "pass/word-1",
      ],
      ["HTTPS_PROXY", "http://user:a@b@c-d-e-f@proxy:1", "a@b@c-d-e-f", "a@b@c-d-e-f"],
      ["https_proxy", "user:pass-word@proxy:1", "pass-word", "pass-word"],
      ["HOMEPAGE", "https://example.com/a:b@c"],
    ] as const)
      assert.deepEqual(of(name, value), expected);
  });

  it("is whatever the models are paid with", () => {
    assert.deepEqual(
      knownSecrets({
        provider: { baseUrl: "http://me:of-the-url@host/v1", apiKey: "key" },
        gitHubToken: "token",
        environment: {},
      }),
      ["key", "token", "of-the-url", "of-the-url"],
    );
  });
});

test("a variable is passed on as it is, but PATH only without what no process is to search", () => {
  const environment = {
    PATH: ["node_modules/.bin", "", "/work/place/bin", "/usr/bin"].join(delimiter),
    GITHUB_WORKSPACE: "/work/place",
    HTTPS_PROXY: "http://user:word@proxy",
    TOKEN: "t",
    OTHER: "o",
  };
  const env = ["PATH", "HTTPS_PROXY", "TOKEN", "UNSET"];
  const expected = { PATH: "/usr/bin", HTTPS_PROXY: "http://user:word@proxy", TOKEN: "t" };
  assert.deepEqual(allowedOf({ environment, env }), expected);
  const { TOKEN: _, ...withoutToken } = expected;
  const mcpServers = { s: { command: "node", env: { TOKEN: "env:TOKEN" } } };
  assert.deepEqual(allowedForPrograms({ mcpServers }, { environment, env }), withoutToken);
});
