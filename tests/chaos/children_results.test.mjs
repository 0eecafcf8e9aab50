// A worker dies while a conversation takes the results of two sub-agents that ran at once.
import { testTasks } from './two_sub_agents.mjs';

testTasks({
  'claim_committed:4': 'the first one has ended and the caller is claimed again',
  'obs_before_commit:3': 'the first result is read',
  'obs_committed:2': 'the first result is stored',
  'wait_before_commit:2': 'the caller is about to wait for the second one',
  'wait_committed:2': 'the caller waits for the second one',
});
