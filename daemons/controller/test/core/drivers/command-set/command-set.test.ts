/** The driver of device definitions: a projector with a password over a real socket, and what never reaches it. */
import t from 'tap'
import { openProjector } from '#kit/test/device/projector.ts'
import { shippedSets } from '#kit/test/device/shipped-sets.ts'
import { until } from '#kit/test/until.ts'
import { createCommandSetDriver } from '../../../../core/drivers/command-set/command-set.ts'
import { driverNameOf } from '../../../../core/drivers/driver.ts'
import type { Row } from '../../../../core/site/book.ts'
import { toyAmp, toyStage } from '../toy-stage.ts'

const driver = createCommandSetDriver(shippedSets())
const row = (columns: Record<string, unknown>) => ({ id: 1, ...columns }) as unknown as Row

t.test('a projector is signed in to, asked by itself, and commanded', async (t) => {
  const projector = await openProjector(t, 'secret')
  const { command, live, reading } = toyStage(t, {
    driver,
    transport: { kind: 'tcp', host: '127.0.0.1', port: projector.port },
    device: { command_set: 'pjlink-class-1', password: 'secret', poll_ms: 20 },
  })
  await until('it was asked', () => reading().power === 'standby')
  t.match(live.device(1), { state: 'online', error: null })
  t.strictSame(await command('power', { power: 'on' }), {})
  t.equal(projector.state.POWR, '1')
  t.same(await command('input', { input: 'digital1' }), { answer: { input: 'digital1' } })
  await until('the page sees it', () => reading().input === 'digital1' && reading().power === 'on')
})

t.test('a wrong password is the reason that the device is offline, and is not shown', async (t) => {
  const projector = await openProjector(t, 'secret')
  const { live } = toyStage(t, {
    driver,
    transport: { kind: 'tcp', host: '127.0.0.1', port: projector.port },
    device: { command_set: 'pjlink-class-1', password: 'guess' },
  })
  await until('it is refused', () => live.device(1).state === 'offline')
  t.equal(live.device(1).error, 'the projector refuses the password')
})

t.test('a device that does not answer is lost, and its late answer is nobody’s', async (t) => {
  const projector = await openProjector(t)
  const { command, live } = toyStage(t, {
    driver,
    transport: { kind: 'tcp', host: '127.0.0.1', port: projector.port },
    device: { command_set: 'pjlink-class-1', poll_ms: 600_000 },
  })
  await until('it is there', () => live.device(1).state === 'online')
  const [old] = projector.sockets
  projector.isMute = true
  await t.rejects(command('power', { power: true }), { code: /driver_failed|driver_timeout/ })
  projector.isMute = false
  await until(
    'it was connected to anew',
    () => live.device(1).state === 'online' && !projector.sockets.has(old as never),
  )
})

t.test('values of a zone go to the zone with that address', async (t) => {
  const amp = await toyAmp(t, () => {})
  amp.onMeet((socket) => void socket.on('data', () => void socket.write('~01@VID 3>2\r\n')))
  const stage = toyStage(t, {
    driver,
    transport: { host: '127.0.0.1', port: amp.port },
    device: { command_set: 'kramer-protocol-3000' },
    zone: { address: '02' },
  })
  await until('it was asked', () => stage.reading().input === 3)
  amp.say('~01@VID 7>1\r\n~01@VID 4>2\r\n')
  await until('its own is heard', () => stage.reading().input === 4)
})

t.test('rows say what is wrong with them before anything is opened', async (t) => {
  const transport = { kind: 'tcp', host: '10.0.0.9' }
  const rows: [Record<string, unknown>, RegExp | undefined][] = [
    [{ command_set: 'pjlink-class-1', transport }, undefined],
    [{ command_set: 'pjlink-class-9', transport }, /no definition "pjlink-class-9"; the nearest is pjlink-class-1/],
    [
      { command_set: 'pjlink-class-1', transport: { ...transport, kind: 'serial' } },
      /transport\.kind of device 1 is not one of tcp, udp, gateway/,
    ],
    [
      { command_set: 'pjlink-class-1', transport: { kind: 'gateway', host: 'a', port: 1 } },
      /transport\.line of device 1/,
    ],
    [{ command_set: 'epson-esc-vp21', transport }, /transport\.port/],
    [
      { command_set: 'samsung-mdc', transport, config: { id: 999 } },
      /id is another number, expected a whole number from 0 to 253/,
    ],
  ]
  for (const [columns, flaw] of rows) {
    const seen = driver.flaw?.(row(columns))
    if (flaw) t.match(seen, flaw)
    else t.equal(seen, undefined)
  }
  t.equal(driverNameOf(row({ command_set: 'x', transport })), 'command_set', 'the column is enough')
  t.equal(driverNameOf(row({ driver: 'tcp', command_set: 'x' })), 'tcp')
})

t.test('verbs and args are known before a command waits for its turn', async (t) => {
  const device = row({ command_set: 'kramer-protocol-3000' })
  t.strictSame(driver.verbs?.(device)?.get('input'), ['output', 'input'])
  const zone = row({ address: '2' })
  const check = (verb: string, args: Record<string, never> | object) =>
    driver.check?.(device, { zone, verb, args: args as never })
  t.doesNotThrow(() => check('input', { input: 3, zone_id: 1 }))
  t.throws(() => check('inputs', {}), { code: 'command_unknown', message: /the nearest is input/ })
  t.throws(() => check('input', { input: 99 }), { code: 'command_args' })
  t.throws(() => check('input', { input: 3, speed: 1 }), { code: 'command_args', message: /no argument "speed"/ })
  t.equal(driver.verbs?.(row({ command_set: 'gone' })), undefined)
})
