import t from 'tap'
import { fakeClock } from '../../../clock-fake.ts'
import { silentLog } from '../../../log.ts'
import { createPresence } from '../../../net/mdns/mdns.ts'

t.test('a daemon that is not announced, or not yet, uses the name that others would hear', async (t) => {
  const mdns = { enabled: false, interface: '', recheck_ms: 5000, per_second: 200 }
  const presence = createPresence({
    ...{ clock: fakeClock(), log: silentLog, config: { mdns, http: { listen: '127.0.0.1:0' } } },
    ...{ stateFolder: t.testdir({}), daemon: 'board', version: '1.0.0', port: () => 80 },
    says: () => ({ role: 'serial', name: 'Hall' }),
  })
  const before = presence.id()
  t.match(before, /^board-[0-9a-f]{10}\._plantroom\._tcp\.local$/)
  await presence.part.start()
  t.equal(presence.id(), before)
  await presence.part.stop()
})
