import { readdirSync } from 'node:fs'
import t from 'tap'
import { forgetState } from '../../io/state-files.ts'

t.test('a reset removes every state file with what belongs to it, and leaves the rest', async (t) => {
  const folder = t.testdir({
    'settings.json': '{}',
    'settings.json.bak': '{}',
    'settings.json.tmp': '{',
    'settings.json.bak.tmp': '{',
    'settings.json.damaged-20311121T015200Z': '{',
    'users.json': '{}',
    'network.json': '{}',
    'starts.json': '{}',
    'starts.json.bak': '{}',
    'journal.jsonl': '{}',
    'daemon.lock': '',
    serial: { 'ports.json': '{}', 'image.bin': '' },
  })
  const left = [
    'daemon.lock',
    'journal.jsonl',
    'network.json',
    'serial',
    'serial/image.bin',
    'starts.json',
    'starts.json.bak',
  ]
  await forgetState(folder)
  t.same(readdirSync(folder, { recursive: true }).sort(), left)
  await forgetState(folder)
  t.same(readdirSync(folder, { recursive: true }).sort(), left, 'a second reset has the same result')
})
