import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createRebooter } from '../../../core/machine/restart.ts'

function setup(world: { ownsMachine: boolean; fault?: Fault; diskFault?: Fault; settled?: Promise<void> }) {
  const clock = fakeClock()
  const done: string[] = []
  const rebooter = createRebooter({
    clock,
    log: silentLog,
    ownsMachine: world.ownsMachine,
    afterMs: 250,
    settle: async () => await world.settled,
    async intend(reason) {
      if (world.diskFault) throw world.diskFault
      done.push(`keep ${reason}`)
    },
    async rebootMachine() {
      if (world.fault) throw world.fault
      done.push('machine')
    },
    restartSelf: (reason) => void done.push(`self ${reason}`),
    about: { machineS: 40, selfS: 3 },
  })
  return { clock, done, rebooter }
}

t.test('a board that owns its machine reboots it, after the answer has gone out', async (t) => {
  const { clock, done, rebooter } = setup({ ownsMachine: true })
  await rebooter.reboot('config')
  await clock.run(249)
  t.same(done, ['keep config'])
  await clock.run(1)
  t.same(done, ['keep config', 'machine'])
  t.equal(rebooter.aboutS, 40)
})

t.test('a daemon that does not own its machine restarts itself', async (t) => {
  const { clock, done, rebooter } = setup({ ownsMachine: false })
  await rebooter.reboot('reboot')
  await clock.run(1000)
  t.same(done, ['keep reboot', 'self reboot'])
  t.equal(rebooter.aboutS, 3)
})

t.test('if the machine does not reboot, the daemon restarts: the saved settings apply', async (t) => {
  const { clock, done, rebooter } = setup({ ownsMachine: true, fault: new Fault('helper_absent', 'nobody there') })
  await rebooter.reboot('config')
  await clock.run(1000)
  t.same(done, ['keep config', 'self config'])
})

t.test('asked twice it restarts once, and keeps both reasons', async (t) => {
  const { clock, done, rebooter } = setup({ ownsMachine: false })
  await rebooter.reboot('config')
  await rebooter.reboot('reboot')
  await clock.run(1000)
  t.same(done, ['keep config', 'keep reboot', 'self config'])
})

t.test('a full disk does not prevent a restart', async (t) => {
  const { clock, done, rebooter } = setup({ ownsMachine: false, diskFault: new Fault('store_write_failed', 'full') })
  await rebooter.reboot('reboot')
  await clock.run(1000)
  t.same(done, ['self reboot'])
})

t.test('a factory reset that the disk cannot store is refused: nothing restarts without it', async (t) => {
  const { clock, done, rebooter } = setup({ ownsMachine: false, diskFault: new Fault('store_write_failed', 'full') })
  await t.rejects(rebooter.reboot('factory_reset'), { code: 'store_write_failed' })
  await clock.run(1000)
  t.same(done, [])
})

t.test('a restart waits for work that it would leave half done', async (t) => {
  const { promise: settled, resolve } = Promise.withResolvers<void>()
  const { clock, done, rebooter } = setup({ ownsMachine: true, settled })
  await rebooter.reboot('config')
  await clock.run(60_000)
  t.same(done, ['keep config'])
  resolve()
  await clock.run(0)
  t.same(done, ['keep config', 'machine'])
})
