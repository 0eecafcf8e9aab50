// Copies this machine's Chromium into a sandbox's container, without fetching or building an image.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { within } from "./wait.mjs";

const PACKAGES = ["chromium", "chromium-common", "fontconfig-config", "fonts-dejavu-core", "libnss3"];
const KEPT_OUT = /^\/usr\/share\/(doc|man|locale|icons|applications|lintian|bug)\/|^\/usr\/lib\/chromium\/locales\/(?!en-US)/;
const PROGRAM = "/usr/lib/chromium/chromium";

const isFile = (file) => file.startsWith("/") && !KEPT_OUT.test(file) && !(fs.lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? true);

/** A library under its requested name, and the target of that link. */
const withTarget = (file) => [file, fs.realpathSync(file)];

function files() {
  const listed = execFileSync("dpkg-query", ["-L", ...PACKAGES], { maxBuffer: 16 << 20 }).toString().split("\n");
  const libraries = execFileSync("ldd", [PROGRAM]).toString().split("\n").map((line) => /=> (\/\S+)/.exec(line)?.[1]).filter(Boolean);
  const real = libraries.map((file) => path.join(fs.realpathSync(path.dirname(file)), path.basename(file)));
  return [...new Set([...listed.filter(isFile), ...real.flatMap(withTarget)])];
}

export async function copyChromium(container) {
  const archive = spawn("tar", ["-cf", "-", "--no-recursion", "-T", "-"], { stdio: ["pipe", "pipe", "ignore"] });
  archive.stdin.end(files().join("\n"));
  const request = http.request({
    socketPath: process.env.DEFT_DOCKER_SOCKET ?? "/var/run/docker.sock", method: "PUT",
    path: `/v1.41/containers/${container}/archive?path=/`, headers: { "Content-Type": "application/x-tar" },
  });
  archive.stdout.pipe(request);
  const [response] = await within(once(request, "response"), "the engine takes Chromium's files");
  const said = [];
  for await (const chunk of response) said.push(chunk);
  assert.equal(response.statusCode, 200, Buffer.concat(said).toString());
}
