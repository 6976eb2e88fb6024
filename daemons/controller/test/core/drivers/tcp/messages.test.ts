// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates of rows are written like that
/** Devices behind a socket whose messages stand in their rows. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { createTcpDriver, createUdpDriver } from '../../../../core/drivers/tcp/tcp.ts'
import type { Json } from '../../../../core/json.ts'
import type { Row } from '../../../../core/site/book.ts'
import { toyAmp, toyStage, toyUdpAmp } from '../toy-stage.ts'

type Columns = Readonly<Record<string, Json>>

function stage(t: Test, port: number, config: Columns, device: Columns = {}) {
  return toyStage(t, {
    driver: createTcpDriver(),
    transport: { kind: 'tcp', host: '127.0.0.1', port },
    device: { config, ...device },
    zone: { address: '7' },
  })
}

const AMP: Columns = {
  framing: { end: '\r\n' },
  commands: {
    volume: { ascii: 'OUT${address} VOL=${args.volume}\r\n', ok: 'OK', refused: 'ERR {*}' },
    mute: { ascii: 'MUTE\r\n' },
    name: { ascii: 'NAME ${args.text|text}\r\n' },
  },
  feedback: [
    { pattern: 'OUT{address:word} VOL {volume:number}' },
    { pattern: 'PWR {on}', map: { ON: true, OFF: false } },
  ],
}

t.test('a device is told, answers, and is heard meanwhile', async (t) => {
  const amp = await toyAmp(t, (socket, line) => {
    if (line.includes('VOL=101')) socket.write('ERR too \u0007loud\r\n')
    else socket.write(`OUT7 VOL ${line.split('=')[1]}\r\nOUT8 VOL 3\r\nOK\r\n`)
  })
  const { command, reading, live } = stage(t, amp.port, AMP)
  await until('it is connected', () => live.device(1).state === 'online')
  t.strictSame(await command('volume', { volume: 40 }), {})
  t.equal(reading().volume, 40, 'of the zone with this address alone')
  await t.rejects(command('volume', { volume: 101 }), { message: 'device 1: it says ERR too loud' })
  amp.say('PWR ON\r\n')
  await until('it is heard', () => reading().on === true)
  await command('mute')
  await until('it has arrived', () => amp.lines.includes('MUTE'))
  t.strictSame(amp.lines, ['OUT7 VOL=40', 'OUT7 VOL=101', 'MUTE'])
  t.equal(amp.sockets.size, 1)
})

t.test('a value ends no message and begins no other', async (t) => {
  const amp = await toyAmp(t)
  const { command } = stage(t, amp.port, {
    framing: { end: ';' },
    commands: { name: { ascii: 'NAME ${args.text|text};' }, volume: { ascii: 'VOL ${args.volume};' } },
    feedback: [{ pattern: 'X {on}' }],
  })
  await t.rejects(command('name', { text: 'a;FACTORY' }), { message: /args\.text has what ends a message/ })
  await t.rejects(command('name', { text: 'a\rb' }), { message: /cannot be sent/ })
  await t.rejects(command('volume', { volume: '1 FACTORY' }), { message: /not a number or a plain word/ })
  t.strictSame(amp.lines, [])
})

t.test('a device of bytes is told and heard in hex', async (t) => {
  const seen: string[] = []
  const amp = await toyAmp(t, (socket, text) => {
    seen.push(Buffer.from(text, 'latin1').toString('hex'))
    socket.write(Buffer.from('aa0780', 'hex'))
  })
  const feedback = [{ field: 'level', pattern: 'AA07{value:hex2}', scale: [0, 255] }]
  const level = { hex: 'AA ${address|hex:2} ${args.level|scale:0:255|round|hex:2}', feedback }
  const bare = { hex: 'AA${args.level}' }
  const { command, reading } = stage(t, amp.port, { form: 'hex', framing: { length: 3 }, commands: { level, bare } })
  await command('level', { level: 50 })
  t.strictSame(seen, ['aa0780'])
  t.match(reading(), { level: 50.2, on: true })
  await t.rejects(command('level', { level: 101 }), {
    message: /args\.level has to be a whole number from 0 to 255 here/,
  })
  await t.rejects(command('bare', { level: 5 }), { message: /not made of bytes in hex: use a filter/ })
})

t.test('polls ask, and what answers them is read', async (t) => {
  let level = 5
  const amp = await toyAmp(t, (socket, line) => void socket.write(`NOISE\r\n${line.replace('?', '')}=${level}\r\n`))
  const { reading, said } = stage(
    t,
    amp.port,
    {
      framing: { end_hex: '0d 0a' },
      polls: [{ ascii: 'L${address}?\r\n', feedback: [{ pattern: 'L7={level:number}' }] }],
    },
    { poll_ms: 20 },
  )
  await until('it is read', () => reading().level === 5)
  level = 6
  await until('it is read again', () => reading().level === 6)
  t.match(said.join(), /sent a message that its driver does not know/)
})

t.test('a device that is only told is connected to when there is something to say', async (t) => {
  const amp = await toyAmp(t, () => {})
  const { command } = stage(t, amp.port, { commands: { on: { ascii: 'ON\r\n' } } })
  t.equal(amp.sockets.size, 0)
  await command('on')
  await until('it has arrived', () => amp.lines.length === 1)
})

t.test('a flood, a line without an end and control characters harm nobody', async (t) => {
  const amp = await toyAmp(t)
  const { reading, live, said } = stage(t, amp.port, {
    framing: { end: '\r\n' },
    feedback: [{ pattern: 'SAY {title}' }],
  })
  await until('it is connected', () => live.device(1).state === 'online')
  amp.say('x'.repeat(100_000))
  amp.say('\r\nSAY a\u001b[2Jb<script>\r\n')
  await until('what comes behind is heard', () => reading().title !== undefined, 20_000)
  t.notMatch(String(reading().title), /\p{Cc}/u)
  t.match(said.join('\n'), /sent a message longer than drivers\.frame_bytes/)
})

t.test('over UDP a message is a datagram, and so is its answer', async (t) => {
  const amp = await toyUdpAmp(t)
  const { command, reading } = toyStage(t, {
    driver: createUdpDriver(),
    transport: { kind: 'udp', host: '127.0.0.1', port: amp.port },
    device: {
      config: {
        commands: { volume: { ascii: 'VOL=${args.volume}', ok: 'OK' } },
        feedback: [{ pattern: 'VOL {volume:number}' }],
      },
    },
  })
  t.strictSame(await command('volume', { volume: 30 }), {})
  t.strictSame(amp.lines, ['VOL=30'])
  amp.say('VOL 31')
  await until('it is heard', () => reading().volume === 31)
})

t.test('what is wrong with a row is said with its place', async (t) => {
  const flawOf = (config: Json) =>
    createTcpDriver().flaw?.({ id: 1, transport: { host: 'a', port: 1 }, config } as unknown as Row)
  t.equal(flawOf(AMP), undefined)
  t.equal(flawOf({ baud: 9600 }), undefined, 'a device of plain lines')
  const wrong: [Json, RegExp][] = [
    [{ commands: { on: {} } }, /^config\.commands\.on needs one of ascii and hex/],
    [{ commands: { on: { ascii: 'é' } } }, /beyond ASCII/],
    [{ commands: { on: { hex: 'AA B' } } }, /two digits each/],
    [{ commands: { on: { hex: 'AA', refuse: 'x' } } }, /has the key "refuse", the nearest known one is refused/],
    [{ feedback: [], framing: { end: '\r', length: 3 } }, /config\.framing has end and length, expected one of them/],
    [{ feedback: [], framing: {} }, /config\.framing needs one of end, end_hex/],
    [{ feedback: [], form: 'binary' }, /config\.form has to be one of ascii, hex/],
  ]
  for (const [config, words] of wrong) t.match(flawOf(config), words)
  t.match(createUdpDriver().flaw?.({ id: 1, transport: { host: 'a' } } as unknown as Row), /transport\.port/)
})
