// A worker dies while a conversation gives work to two sub-agents that run at once.
import { testTasks } from './two_sub_agents.mjs';

testTasks({
  'child_committed:1': 'the first one has its work',
  'child_before_commit:2': 'the second one is about to get its work',
  'child_committed:2': 'both have their work',
  'wait_before_commit:1': 'the caller is about to wait',
  'wait_committed:1': 'the caller waits',
  'aes_sent:1': 'a command runs',
  'aes_sent:2': 'both commands run',
});
