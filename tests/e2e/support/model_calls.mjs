// Tool calls for the scenarios of a fake model.

export const terminal = (command, security_risk = 'LOW') =>
  ({ name: 'terminal', arguments: { command, security_risk, summary: 's' } });

export const finish = { name: 'finish', arguments: { message: 'done' } };
