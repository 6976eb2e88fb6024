import t from 'tap'
import { reasonOfStart, type StartRecord } from '../../../core/machine/restart.ts'

const before: StartRecord = { bootId: 'one', startedAt: 1, reason: 'first', intent: null, isStopped: false }

t.test('the reason of a start follows from what the last run left, and from the boot of the machine', async (t) => {
  for (const [what, left, bootId, reason] of [
    ['nothing was left', undefined, 'one', 'first'],
    ['settings were saved', { ...before, intent: 'config', isStopped: true }, 'one', 'config'],
    [
      'settings were saved, and the machine rebooted',
      { ...before, intent: 'config', isStopped: true },
      'two',
      'config',
    ],
    ['a reboot was asked for', { ...before, intent: 'reboot', isStopped: true }, 'one', 'reboot'],
    ['firmware was installed', { ...before, intent: 'ota' }, 'two', 'ota'],
    ['everything was reset', { ...before, intent: 'factory_reset', isStopped: true }, 'one', 'factory_reset'],
    ['the plug was pulled', before, 'two', 'power'],
    ['somebody rebooted the machine', { ...before, isStopped: true }, 'two', 'reboot'],
    ['the daemon was killed', before, 'one', 'crash'],
    ['the daemon was stopped and started', { ...before, isStopped: true }, 'one', 'service'],
    ['the machine does not tell its lives apart', before, '', 'unknown'],
    ['it did not before', { ...before, bootId: '' }, 'one', 'unknown'],
    ['stopped, where the machine does not tell', { ...before, isStopped: true }, '', 'service'],
  ] as const)
    t.equal(reasonOfStart(left, bootId), reason, what)
})
