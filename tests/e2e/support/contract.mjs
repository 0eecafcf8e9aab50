// The contract as data: paths, parameters and schemas of version 1.58.0, and validators for them.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const HERE = new URL('../../data/golden/agent-server/contract.json', import.meta.url);

export const contract = JSON.parse(readFileSync(HERE, 'utf8'));

/** {route: 'GET /path', method, path, operation} of every operation. */
export function operationsOf({ paths }) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, operation })),
  );
}

/** Validates values against schemas of a document; `errors(schema, value)` is a list of messages, empty for a valid value. */
export class Validator {
  constructor(document) {
    // strict: the document has OpenAPI-specific members; some of the contract's dates have no zone.
    this.ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(this.ajv, ['uuid', 'date', 'uri', 'email']);
    for (const name of ['date-time', 'path', 'password', 'binary']) this.ajv.addFormat(name, true);
    this.ajv.addSchema({ $id: 'contract', components: document.components });
    this.compiled = new Map();
  }

  errors(schema, value) {
    const key = JSON.stringify(schema);
    if (!this.compiled.has(key)) this.compiled.set(key, this.ajv.compile(absolute(schema)));
    const validate = this.compiled.get(key);
    return validate(value) ? [] : validate.errors.map(({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`);
  }
}

function absolute(schema) {
  return JSON.parse(JSON.stringify(schema), (name, value) => (name === '$ref' ? `contract${value}` : value));
}

/** The JSON schema of an answer with that status; undefined if there is none. */
export function answerSchema(operation, status) {
  return operation.responses[status]?.content?.['application/json']?.schema;
}

export function bodySchema(operation) {
  return operation.requestBody?.content?.['application/json']?.schema;
}
