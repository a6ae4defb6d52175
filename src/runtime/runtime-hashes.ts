// Written by scripts/write-runtime-hashes.mjs from package-lock.json. Don't edit.

/** The version of the packages `@github/copilot-sdk-<platform>`. */
export const runtimeVersion = "1.0.14";

/** Platform → the integrity of its package, as npm writes it: `sha512-` and base64. */
export const runtimeHashes: Readonly<Record<string, string>> = {
  "linux-x64":
    "sha512-1wlAVTK1z7ovAez0tixr+f77TnjB3fqKobamu1pG7FYyCTwQuyU4p1aWNXF9j/u1d7rxSY1n9cAxrtEAUkizbg==",
  "linuxmusl-x64":
    "sha512-tNNeJl53hXEkqeGudNAsHQk9OrSUbt2EdPhtugcQxscabaEFutd7KwQH6jmvvYW7Sifgl59ySWTd4ok/9I94kg==",
};

/** Platforms that the SDK names and package-lock.json has no hash of: nothing is installed there. */
export const runtimesWithoutHash: readonly string[] = [
  "darwin-arm64",
  "darwin-x64",
  "linux-arm64",
  "linuxmusl-arm64",
  "win32-arm64",
  "win32-x64",
];
