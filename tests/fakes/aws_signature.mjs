// Checks AWS Signature Version 4 as a service does: it computes the signature from what came.
// Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { createHash, createHmac } from 'node:crypto';

const VALID_MS = 5 * 60 * 1000;
const AUTHORIZATION = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
/** RFC 3986: encodeURIComponent() leaves five characters as they are. */
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const trimmed = (value) => String(value).trim().replace(/ +/g, ' ');

function signatureOf({ method, path, headers, text }, names, { date, region, service, secret }) {
  const canonical = [
    method, path.split('/').map(encode).join('/'), '', ...names.map((name) => `${name}:${trimmed(headers[name])}`), '', names.join(';'), sha256(text),
  ].join('\n');
  const day = date.slice(0, 8);
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce((k, part) => hmac(k, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

const timeOf = (date) => Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/** Why a request { method, path, headers, text } is not from the owner of the credentials; null if it is. */
export function signatureProblem(request, { accessKeyId, secretAccessKey, sessionToken, region, service }) {
  const { headers } = request;
  const match = AUTHORIZATION.exec(headers.authorization ?? '');
  if (match === null) return 'the Authorization header is not a signature';
  const [, id, day, itsRegion, itsService, list, signature] = match;
  const names = list.split(';');
  const date = headers['x-amz-date'] ?? '';
  if (id !== accessKeyId) return 'The security token included in the request is invalid.';
  if (headers['x-amz-security-token'] !== sessionToken) return 'The security token included in the request is invalid.';
  if (itsRegion !== region || itsService !== service) return `Credential should be scoped to ${region}/${service}`;
  if (!(Math.abs(timeOf(date) - Date.now()) < VALID_MS) || !date.startsWith(day)) return 'Signature expired';
  if (list !== [...names].sort().join(';')) return 'the signed headers are not sorted';
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
  const missing = needed.filter((name) => !names.includes(name));
  if (missing.length > 0) return `'${missing[0]}' must be a 'SignedHeader' in the AWS Authorization.`;
  const expected = signatureOf(request, names, { date, region, service, secret: secretAccessKey });
  return signature === expected ? null : 'The request signature we calculated does not match the signature you provided.';
}
