// The caller's shared sandbox, or that of a conversation: runs commands and stores files.
import { call, must } from './api.mjs';

export class Box {
  /** prefix: '/api' for the shared one, a conversation's path for its own. */
  constructor(prefix = '/api', options = {}) {
    this.prefix = prefix;
    this.options = options;
  }

  call(method, path, options = {}) {
    return call(method, this.prefix + path, { ...this.options, ...options });
  }

  must(status, method, path, options = {}) {
    return must(status, method, this.prefix + path, { ...this.options, ...options });
  }

  /** Runs a command; fails unless it succeeds. Resolves with its output. */
  async run(command, more = {}) {
    const { exit_code: code, stdout, stderr } = await this.must(200, 'POST', '/bash/execute_bash_command', { json: { command, ...more } });
    if (code !== 0) throw new Error(`${command}: ${code}: ${stderr ?? stdout}`);
    return stdout ?? '';
  }

  async upload(path, bytes) {
    const form = new FormData();
    form.append('file', new Blob([bytes]), 'any name');
    return this.call('POST', '/file/upload', { query: { path }, body: form });
  }

  download(path) {
    return this.call('GET', '/file/download', { query: { path } });
  }
}
