/** The binding against programs nobody here wrote: pyserial and socat. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PlantroomBinding, type PlantroomPort } from '../index.ts'

const PYTHON = '/usr/bin/python3'
const noPyserial = spawnSync(PYTHON, ['-c', 'import serial']).status !== 0 && 'python3-serial is not installed'
const noSocat = spawnSync('socat', ['-V']).status !== 0 && 'socat is not installed'

/** Two ptys joined by socat; resolves to the paths of their device ends. */
async function joined(t: Test): Promise<[string, string]> {
  const folder = mkdtempSync(join(tmpdir(), 'pair-'))
  const paths: [string, string] = [join(folder, 'a'), join(folder, 'b')]
  const socat = spawn('socat', ['-d', '-d', ...paths.map((path) => `PTY,link=${path},raw,echo=0`)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(async () => {
    socat.kill()
    if (socat.exitCode === null) await once(socat, 'exit')
    rmSync(folder, { recursive: true, force: true })
  })
  await new Promise<void>((resolve) => {
    let said = ''
    socat.stderr.on('data', (text: Buffer) => {
      said += text.toString()
      if (said.includes('starting data transfer loop')) resolve()
    })
  })
  return paths
}

async function readAll(port: PlantroomPort, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  for (let at = 0; at < length; ) at += (await port.read(buffer, at, length - at)).bytesRead
  return buffer
}

const ECHO = `
import serial, sys
line = serial.Serial(sys.argv[1], 9600, timeout=10)
print('open', flush=True)
left = int(sys.argv[2])
while left > 0:
    got = line.read(min(left, 512))
    if not got: sys.exit('silence')
    line.write(bytes(b ^ 0xff for b in got))
    left -= len(got)
line.flush()
`

t.test('talks with pyserial over a pair of ptys made by socat', { skip: noPyserial || noSocat }, async (t) => {
  const [ours, theirs] = await joined(t)
  const sent = Buffer.from(Array.from({ length: 8192 }, (_, at) => (at * 13) & 0xff))
  const port = await PlantroomBinding.open({ path: ours, baudRate: 9600 })
  t.teardown(() => port.close())
  const peer = spawn(PYTHON, ['-c', ECHO, theirs, String(sent.length)])
  await once(peer.stdout, 'data')
  const back = readAll(port, sent.length)
  await port.write(sent)
  t.same(await back, Buffer.from(sent.map((byte) => byte ^ 0xff)))
  if (peer.exitCode === null) await once(peer, 'exit')
  t.equal(peer.exitCode, 0)
})

t.test(
  'is kept out by the exclusive lock of pyserial, and keeps pyserial out',
  { skip: noPyserial || noSocat },
  async (t) => {
    const [ours] = await joined(t)
    const hold = `import serial, sys; s = serial.Serial(sys.argv[1], exclusive=True); print('open', flush=True); sys.stdin.read()`
    const holder = spawn(PYTHON, ['-c', hold, ours])
    await once(holder.stdout, 'data')
    await t.rejects(PlantroomBinding.open({ path: ours, baudRate: 9600 }), { code: 'EBUSY', holder: holder.pid })
    holder.stdin.end()
    await once(holder, 'exit')
    const port = await PlantroomBinding.open({ path: ours, baudRate: 9600 })
    t.teardown(() => port.close())
    const refused = spawnSync(PYTHON, ['-c', 'import serial, sys; serial.Serial(sys.argv[1], exclusive=True)', ours])
    t.match(refused.stderr.toString(), /Could not exclusively lock port/)
  },
)
