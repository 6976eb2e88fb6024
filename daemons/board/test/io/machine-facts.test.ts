import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { defaultInterface, interfaceOfRoutes } from '../../io/interfaces.ts'
import {
  createFactsBook,
  groupSeed,
  machineModel,
  readBootId,
  readTemperature,
  readTimeSync,
} from '../../io/machine-facts.ts'

t.test('the temperature is that of the hottest zone that reads', async (t) => {
  const folder = t.testdir({
    thermal_zone0: { temp: '48250\n', type: 'cpu-thermal\n' },
    thermal_zone1: { temp: '51980\n' },
    thermal_zone2: { temp: '-274000\n' },
    thermal_zone3: { temp: '' },
    thermal_zone4: {},
    cooling_device0: { temp: '99000\n' },
  })
  t.equal(await readTemperature(folder), 52)
})

t.test('a machine without a sensor has no temperature, and not one of 0', async (t) => {
  t.equal(await readTemperature(t.testdir({ thermal_zone0: { temp: 'unknown' } })), null)
  t.equal(await readTemperature('/nowhere'), null)
})

t.test('whether the clock follows a time server is yes, no, or unknown', async (t) => {
  const folder = t.testdir({})
  const { chmodSync, writeFileSync } = await import('node:fs')
  const answering = (name: string, script: string) => {
    writeFileSync(`${folder}/${name}`, `#!/bin/sh\n${script}\n`)
    chmodSync(`${folder}/${name}`, 0o755)
    return readTimeSync(`${folder}/${name}`)
  }
  t.equal(await answering('yes', '[ "$1 $2 $3" = "show --property=NTPSynchronized --value" ] && echo yes'), true)
  t.equal(await answering('no', 'echo no'), false)
  t.equal(await answering('other', 'echo perhaps'), null)
  t.equal(await answering('fails', 'echo yes; exit 1'), null)
  t.equal(await readTimeSync('/nowhere/timedatectl'), null)
})

t.test('the interface is the one with the default route of the lowest metric', async (t) => {
  const routes = [
    'Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT',
    'eth1\t00000000\t0100000A\t0003\t0\t0\t600\t00000000\t0\t0\t0',
    'eth2\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0',
    'eth0\t00000000\t0104140A\t0003\t0\t0\t100\t00000000\t0\t0\t0',
    '',
  ].join('\n')
  t.equal(interfaceOfRoutes(routes), 'eth0')
  t.equal(interfaceOfRoutes(''), undefined)
  t.equal(defaultInterface(`${t.testdir({ route: routes })}/route`), 'eth0')
  t.not(defaultInterface('/nowhere'), 'lo')
})

t.test('the model is the name its maker wrote into device tree or firmware', async (t) => {
  const folder = t.testdir({ model: 'Raspberry Pi 4 Model B Rev 1.4\0', product: 'OptiPlex\n', empty: '' })
  t.equal(machineModel([`${folder}/model`, `${folder}/product`]), 'Raspberry Pi 4 Model B Rev 1.4')
  t.equal(machineModel([`${folder}/empty`, `${folder}/product`]), 'OptiPlex')
  t.equal(machineModel(['/nowhere']), null)
})

t.test('the boot of a machine has an id, empty if the machine gives none', async (t) => {
  t.match(readBootId(), /^[0-9a-f-]{36}$/)
  t.equal(readBootId('/nowhere'), '')
})

t.test('the seed of the first group differs from board to board, and stays', async (t) => {
  t.same(groupSeed('/var/lib/one'), groupSeed('/var/lib/one'))
  t.notSame(groupSeed('/var/lib/one'), groupSeed('/var/lib/other'))
  t.equal(groupSeed('/var/lib/one').length, 2)
})

t.test('facts are looked up at intervals, the state of the clock less often', async (t) => {
  const clock = fakeClock()
  const asked = { temperature: 0, time: 0 }
  const told: unknown[] = []
  const book = createFactsBook({
    clock,
    periodMs: 5000,
    timeSyncMs: 60_000,
    readTemperature: async () => 40 + asked.temperature++,
    readTimeSync: async () => asked.time++ > 0,
    onTimeSync: () => told.push(book.facts().isTimeSynchronised),
  })
  t.match(book.facts(), { temperatureC: null, isTimeSynchronised: null })
  await book.start()
  await clock.run(0)
  t.match(book.facts(), { temperatureC: 40, isTimeSynchronised: false })
  await clock.run(60_000)
  t.match(book.facts(), { temperatureC: 52, isTimeSynchronised: true })
  t.same(told, [false, true], 'and told when it changes')
  const { memory, load, addresses } = book.facts()
  t.ok(memory.totalBytes >= memory.availableBytes && memory.processBytes > 0)
  t.equal(load.length, 3)
  for (const { address, prefix } of addresses) t.ok(address !== '127.0.0.1' && prefix > 0, address)
  book.stop()
  t.equal(clock.pending(), 0)
})
