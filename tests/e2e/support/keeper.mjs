// A separate user for a test file, with stored objects.
import { call, must } from './api.mjs';
import { newUser } from './users.mjs';

export class Keeper {
  static async make() {
    const keeper = new Keeper();
    keeper.key = (await newUser()).key;
    return keeper;
  }

  call(method, path, options = {}) {
    return call(method, path, { key: this.key, ...options });
  }

  must(status, method, path, json = undefined, headers = {}) {
    return must(status, method, path, { key: this.key, headers, ...(json === undefined ? {} : { json }) });
  }

  /** GET with the secrets shown: 'encrypted' or 'plaintext'. */
  exposed(how, path) {
    return this.must(200, 'GET', path, undefined, { 'x-expose-secrets': how });
  }

  putSecret(name, value, description = undefined) {
    return this.must(200, 'PUT', '/api/settings/secrets', { name, value, description });
  }

  saveProfile(name, llm, more = {}) {
    return this.must(201, 'POST', `/api/profiles/${name}`, { llm, ...more });
  }
}
