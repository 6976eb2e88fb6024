/** What systemd gets, and when. */
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { createSupervisor } from '#kit/run/daemon.ts'

function setup(env: NodeJS.ProcessEnv = {}) {
  const clock = fakeClock()
  const told: string[] = []
  const lines: string[] = []
  const world = { status: 'fine', isHealthy: true, refuses: false }
  const supervisor = createSupervisor({
    clock,
    log: createLog({ level: 'notice', journal: true, stream: { write: (line) => lines.push(line) } }),
    notify(state) {
      if (world.refuses) throw new Error('ECONNREFUSED')
      told.push(state)
      return true
    },
    env,
    pid: 7,
    status: () => world.status,
    isHealthy: () => world.isHealthy,
  })
  return { clock, told, lines, world, supervisor }
}

t.test('says ready, its status when that changes, and stopping', async (t) => {
  const { supervisor, told, clock, world } = setup()
  supervisor.ready()
  clock.advance(60_000)
  world.status = 'two\nlines'
  clock.advance(60_000)
  supervisor.stopping()
  clock.advance(60_000)
  t.same(told, ['READY=1', 'STATUS=fine', 'STATUS=two lines', 'STOPPING=1\nSTATUS=stopping'])
})

t.test('sd_notify(3): says that it is restarting, and sends no more pings', async (t) => {
  const { supervisor, told, clock } = setup({ WATCHDOG_USEC: '4000000' })
  supervisor.ready()
  clock.advance(1500)
  supervisor.restarting()
  clock.advance(60_000)
  t.same(told, ['READY=1', 'STATUS=fine', 'RELOADING=1\nMONOTONIC_USEC=1500000\nSTATUS=starting anew'])
})

t.test('pings at half the period of the watchdog', async (t) => {
  const { supervisor, told, clock } = setup({ WATCHDOG_USEC: '4000000', WATCHDOG_PID: '7' })
  supervisor.ready()
  clock.advance(6000)
  t.equal(told.filter((state) => state === 'WATCHDOG=1').length, 3)
})

t.test('sends no ping while it is not healthy', async (t) => {
  const { supervisor, told, clock, world } = setup({ WATCHDOG_USEC: '4000000' })
  supervisor.ready()
  world.isHealthy = false
  clock.advance(20_000)
  t.notOk(told.includes('WATCHDOG=1'))
})

t.test('sd_watchdog_enabled(3): leaves a watchdog meant for another process alone', async (t) => {
  for (const env of [{ WATCHDOG_USEC: '4000000', WATCHDOG_PID: '8' }, { WATCHDOG_USEC: '0' }, { WATCHDOG_USEC: 'x' }]) {
    const { supervisor, told, clock } = setup(env)
    supervisor.ready()
    clock.advance(20_000)
    t.notOk(told.includes('WATCHDOG=1'))
  }
})

t.test('continues when the socket refuses, and says so once', async (t) => {
  const { supervisor, clock, lines, world } = setup({ WATCHDOG_USEC: '4000000' })
  world.refuses = true
  supervisor.ready()
  clock.advance(60_000)
  t.equal(lines.length, 1)
  t.match(lines[0], /^<4>systemd does not take our state fault=ECONNREFUSED/)
})
