// Tool calls for the scenarios of a fake model.

export const terminal = (command, security_risk = 'LOW') =>
  ({ name: 'terminal', arguments: { command, security_risk, summary: 's' } });

export const create = (path, file_text) =>
  ({ name: 'file_editor', arguments: { command: 'create', path, file_text, security_risk: 'LOW', summary: 's' } });

export const finish = { name: 'finish', arguments: { message: 'done' } };
