/** python3-serial's rfc2217:// client in full, against the board and against ser2net; tshark reads what was said. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { recordingProxy } from './peer/recording-proxy.ts'
import { serialRig } from './serial-rig.ts'

const run = promisify(execFile)
const PYTHON = '/usr/bin/python3'
const noSerial = existsSync('/usr/lib/python3/dist-packages/serial/rfc2217.py') ? false : 'needs python3-serial'
const noTshark = existsSync('/usr/bin/tshark') ? false : 'needs tshark'
const noSer2net = existsSync('/usr/sbin/ser2net') ? false : 'needs ser2net'

// Both wait only for the timeouts of their client, and share nothing.
t.jobs = 2

/** The result of each step, by its name. */
async function steps(port: number, options = ''): Promise<Record<string, unknown>> {
  const script = join(import.meta.dirname, 'peer/rfc2217.py')
  const { stdout } = await run(PYTHON, [script, `127.0.0.1:${port}`, options], { timeout: 400_000 })
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
}

/** A pty keeps 8 data bits and no parity whatever is set (drivers/tty/pty.c), and has no RTS and DTR. */
const REFUSED = /ValueError: remote rejected value for option/
const onAPty = {
  open: null,
  'baud 300': 'ok',
  'baud 1200': 'ok',
  'baud 57600': 'ok',
  'baud 115200': 'ok',
  'baud 250000': 'ok',
  'baud 3000000': 'ok',
  'baud 9600': 'ok',
  'size 5': REFUSED,
  'size 6': REFUSED,
  'size 7': REFUSED,
  'size 8': 'ok',
  'parity O': REFUSED,
  'parity E': REFUSED,
  'parity M': REFUSED,
  'parity S': REFUSED,
  'parity N': 'ok',
  'stop 2': 'ok',
  'stop 1.5': REFUSED,
  'stop 1': 'ok',
  'rtscts True': 'ok',
  'rtscts False': 'ok',
  'xonxoff True': 'ok',
  'xonxoff False': 'ok',
  'dtr False': 'ok',
  'dtr True': 'ok',
  'rts False': 'ok',
  'rts True': 'ok',
  'break_condition False': 'ok',
  'break_condition True': 'ok',
  'break off': 'ok',
  send_break: null,
  cts: false,
  dsr: false,
  ri: false,
  cd: false,
  'purge input': null,
  'purge output': null,
  'every byte': 'equal',
  'FF alone': 'equal',
  '8 KiB': 'equal',
  'data beside settings': '',
  close: null,
}

t.test(
  'B.serial.rfc2217 python3-serial does everything it can, and tshark reads the session without a malformed packet',
  { skip: noSerial || noTshark, buffered: true },
  async (t) => {
    const rig = await serialRig(t, ['rfc2217'])
    const [device] = rig.devices
    device?.onBytes((bytes) => void device.write(bytes))
    const proxy = await recordingProxy(t, rig.ports[0] ?? 0)
    t.match(await steps(proxy.port), onAPty)
    await readByTshark(t, proxy.pcap())
    const { counters, line_now, baud } = await rig.port()
    t.equal(counters.telnet_faults, 0)
    t.equal(counters.bytes_discarded, 0)
    t.equal(counters.bytes_from_line, counters.bytes_to_line)
    t.equal(baud, 115_200)
    t.equal(line_now, null, 'the last client has left')
  },
)

/** Every word is one of Telnet, every message one of RFC 2217. */
async function readByTshark(t: Test, pcap: Buffer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'telnet-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'session.pcap')
  writeFileSync(file, pcap)
  const { stdout } = await run('tshark', ['-r', file, '-O', 'telnet', '-Y', 'telnet'], {
    maxBuffer: 64_000_000,
    timeout: 400_000,
  })
  const odd = stdout.split('\n').filter((line) => /malformed|unknown|invalid/i.test(line))
  // Only from the client: it asks for the modem state without a value, which RFC 2217 does not have.
  t.strictSame(
    odd.filter((line) => !line.includes('Client <Invalid Modemstate Packet>')),
    [],
  )
  const count = (what: RegExp) => [...stdout.matchAll(what)].length
  t.ok(count(/Suboption COM Port Control/g) > 200, 'COM-PORT-OPTION is read')
  for (const what of [
    /Baud Rate: 3000000/i,
    /Data Size/i,
    /Parity/i,
    /Stop Bits|Stopsize|Stop Size/i,
    /Control/i,
    /Purge/i,
  ])
    t.match(stdout, what)
}

t.test(
  'B.serial.rfc2217 whatever ser2net answers python3-serial, the board answers the same',
  { skip: noSerial || noSer2net, buffered: true },
  async (t) => {
    const port = await ser2net(t)
    // ser2net does not answer DTR and RTS on a line that has none: without this the client cannot open it.
    const theirs = await steps(port, '&ign_set_control')
    const differs = Object.keys(onAPty).filter((name) => theirs[name] !== undefined && !same(theirs[name], name))
    // It says 5 to 7 bits and a parity on a pty, which has neither, does not answer 1.5 stop bits at all, and for modem
    // lines, which a pty has not either, not every time.
    const known = /^size [567]$|^parity [OEMS]$|^stop 1\.5$|^(cts|dsr|ri|cd)$/
    t.strictSame(
      differs.filter((name) => !known.test(name)),
      [],
    )
    t.equal(theirs['every byte'], 'equal')
  },
)

function same(result: unknown, name: string): boolean {
  const ours = (onAPty as Record<string, unknown>)[name]
  return ours instanceof RegExp ? ours.test(String(result)) : ours === result
}

async function ser2net(t: Test): Promise<number> {
  const pty = openPty()
  pty.onBytes((bytes) => void pty.write(bytes))
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'ser2net-'))
  const lines = [
    'connection: &line',
    `  accepter: telnet(rfc2217),tcp(nodelay=true),127.0.0.1,${port}`,
    `  connector: serialdev,${pty.path},9600n81,local`,
    '',
  ]
  writeFileSync(join(folder, 'ser2net.yaml'), lines.join('\n'))
  const child = spawn('/usr/sbin/ser2net', ['-n', '-c', join(folder, 'ser2net.yaml')], { stdio: 'ignore' })
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await pty.close()
    rmSync(folder, { recursive: true })
  })
  // By the kernel's list: a connection that only looks whether it may would open the line.
  const listens = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`
  await until('ser2net listens', () => readFileSync('/proc/net/tcp', 'utf8').includes(listens))
  return port
}
