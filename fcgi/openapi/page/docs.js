// Renders openapi.json: routes by group, each with its parameters, body and answers.

/** An element with attributes and children; texts become text nodes, so the document cannot inject markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const SERVER = 'server';

/** The group of a path: what follows /api, or the conversation's part. */
function groupOf(path) {
  const words = path.split('/').filter((word) => word !== '' && word !== 'api');
  if (words[0] === 'conversations' && words.length > 2) return `conversations: ${words[2]}`;
  return path.startsWith('/api/') ? words[0] : SERVER;
}

function resolve(schema, root) {
  const name = schema?.$ref?.split('/').pop();
  return name === undefined ? schema : root.components.schemas[name];
}

/** A schema in one line: "string", "array of GitChange", "integer or null". */
function typeOf(schema) {
  if (schema === undefined) return '';
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(' | ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items) || 'anything'}`;
  return schema.format ? `${schema.type} (${schema.format})` : schema.type ?? 'anything';
}

function row(name, schema, isRequired, place) {
  const byDefault = schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`;
  return make('tr', {}, make('td', {}, make('code', {}, name)), make('td', {}, place), make('td', {}, typeOf(schema)), make('td', {}, isRequired ? 'required' : byDefault));
}

function table(rows) {
  return rows.length === 0 ? null : make('table', {}, ...rows);
}

function bodyRows(operation, root) {
  const schema = resolve(Object.values(operation.requestBody?.content ?? {})[0]?.schema, root);
  if (!schema) return [];
  if (!schema.properties) return [row('(body)', schema, operation.requestBody.required, 'body')];
  return Object.entries(schema.properties).map(([name, member]) => row(name, member, schema.required?.includes(name), 'body'));
}

function answerRows(operation, root) {
  return Object.entries(operation.responses).flatMap(([status, response]) => {
    const schema = Object.values(response.content ?? {})[0]?.schema;
    const head = make('tr', {}, make('td', {}, make('code', {}, status)), make('td', {}, response.description), make('td', {}, typeOf(schema)));
    const members = status < '300' ? Object.entries(resolve(schema, root)?.properties ?? {}) : [];
    return [head, ...members.map(([name, member]) => row(name, member, false, ''))];
  });
}

function showOperation(path, method, operation, root) {
  const parameters = operation.parameters.map((one) => row(one.name, one.schema, one.required, one.in));
  return make(
    'details',
    { id: operation.operationId, class: '501' in operation.responses ? 'unserved' : 'served' },
    make('summary', {}, make('span', { class: 'method' }, method.toUpperCase()), make('code', {}, path), ' ', make('span', { class: 'words' }, operation.summary ?? '')),
    '501' in operation.responses ? make('p', {}, 'Not served: answers 501.') : null,
    operation.security?.length === 0 ? make('p', {}, 'No key required.') : null,
    table([...parameters, ...bodyRows(operation, root)]),
    make('h4', {}, 'Answers'),
    table(answerRows(operation, root)),
  );
}

function showAll(root) {
  const groups = new Map();
  for (const [path, item] of Object.entries(root.paths)) {
    const group = groupOf(path);
    if (!groups.has(group)) groups.set(group, []);
    for (const [method, operation] of Object.entries(item)) groups.get(group).push(showOperation(path, method, operation, root));
  }
  const sorted = [...groups].sort(([a], [b]) => a.localeCompare(b));
  return sorted.map(([group, routes]) => make('section', {}, make('h2', {}, group), ...routes));
}

/** Hides the routes that do not contain the search words. */
function filter(words) {
  for (const section of document.querySelectorAll('section')) {
    let shown = 0;
    for (const details of section.querySelectorAll('details')) {
      details.hidden = !details.firstChild.textContent.toLowerCase().includes(words.toLowerCase());
      shown += details.hidden ? 0 : 1;
    }
    section.hidden = shown === 0;
  }
}

async function main() {
  const routes = document.getElementById('routes');
  try {
    const answer = await fetch('openapi.json');
    if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
    const root = await answer.json();
    document.getElementById('version').textContent = `version ${root.info.version}`;
    routes.replaceChildren(...showAll(root));
    document.getElementById('find').addEventListener('input', (event) => filter(event.target.value));
  } catch (error) {
    routes.textContent = `The description could not be loaded: ${error.message}`;
  }
}

await main();
