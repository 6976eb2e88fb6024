/** `plantroom demo`: the gateway with simulated hardware on pseudo terminals. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openPty, type Pty } from '#native/serial/index.ts'
import { type GatewayProcess, startGateway } from './demo/gateway-process.ts'
import { demoLogin, type Integration, integrate } from './demo/integration.ts'
import { startScale } from './demo/scale.ts'
import { openSink, type Sink } from './demo/sink.ts'
import { startModbusLine } from './sim/modbus-device.ts'

const HELP = `Usage: plantroom demo [--listen HOST:PORT]

Starts the gateway with simulated devices until Ctrl-C. Nothing is kept.
  --listen HOST:PORT   where its page is, 127.0.0.1:3132 unless told; a port that is taken is replaced by a free one
Exit codes: 0 stopped by you, 1 the gateway failed, 2 wrong usage
`

/** What stands while the demo runs. */
interface Scene {
  gateway: GatewayProcess
  busPath: string
  scalePath: string
  sink: Sink
}

async function run(argv: readonly string[]): Promise<number> {
  const listen = listenOf(argv)
  if (listen === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (listen === undefined) {
    process.stderr.write(`plantroom demo takes only --listen HOST:PORT.\n\n${HELP}`)
    return 2
  }
  const undo: (() => unknown)[] = []
  const told = toldToStop(undo)
  try {
    const scene = await build(listen, undo)
    process.stdout.write(words(scene))
    const end = await Promise.race([told, scene.gateway.ended])
    if (end === 'stop') process.stdout.write('\nStopping.\n')
    else process.stderr.write(`The gateway ended by itself:\n${end}\n`)
    return end === 'stop' ? 0 : 1
  } catch (error) {
    process.stderr.write(`The demo could not start: ${error instanceof Error ? error.message : error}\n`)
    return 1
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

function listenOf(argv: readonly string[]): string | undefined {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { listen: { type: 'string' }, help: { type: 'boolean' } },
    })
    if (values.help) return 'help'
    return values.listen ?? '127.0.0.1:3132'
  } catch {
    return undefined // an unknown option: the help says which there are
  }
}

/** Resolves at the first Ctrl-C or SIGTERM; a second one ends the process at once. */
function toldToStop(undo: (() => unknown)[]): Promise<'stop'> {
  return new Promise((resolve) => {
    let isTold = false
    const stop = () => {
      if (isTold) process.exit(1)
      isTold = true
      resolve('stop')
    }
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, stop)
      undo.push(() => process.off(signal, stop))
    }
  })
}

/** Each thing that is started says in `undo` how it is stopped. */
async function build(listen: string, undo: (() => unknown)[]): Promise<Scene> {
  const stateFolder = await mkdtemp(join(tmpdir(), 'plantroom-demo-'))
  undo.push(() => rm(stateFolder, { recursive: true, force: true }))
  const bus = opened(undo)
  undo.push(startModbusLine(bus))
  const raw = opened(undo)
  undo.push(startScale(raw))
  const sink = await openSink()
  undo.push(() => sink.close())
  const gateway = await startGateway({ stateFolder, listen })
  undo.push(() => gateway.stop())
  const integration = await integrate(gateway.url)
  const scene = { gateway, busPath: bus.path, scalePath: raw.path, sink }
  await setUpLines(integration, scene)
  undo.push(integration.askEvery(bus.path))
  return scene
}

function opened(undo: (() => unknown)[]): Pty {
  const pty = openPty()
  undo.push(() => pty.close())
  return pty
}

async function setUpLines({ call }: Integration, { busPath, scalePath, sink }: Scene): Promise<void> {
  await call('PUT', portPath(busPath), { protocol: 'modbus-rtu' })
  const framing = { framing: 'delimiter', delimiter_hex: '0D 0A' }
  await call('PUT', portPath(scalePath), { protocol: 'raw', settings: framing })
  await call('POST', `${portPath(scalePath)}/webhooks`, { url: sink.url, events: ['frame'], secret: 'demo secret' })
}

function portPath(device: string): string {
  return `/api/ports/${encodeURIComponent(device)}`
}

function words({ busPath, gateway, scalePath }: Scene): string {
  const { url } = gateway
  const bus = `${url}${portPath(busPath)}`
  const login = `curl -s ${url}/api/login -H 'content-type: application/json' -d '{"password":"${demoLogin.password}"}'`
  return `
Plantroom demo: the gateway with simulated devices.

  Page       ${url}/
             name ${demoLogin.username}, password ${demoLogin.password}

  ${busPath}   Modbus RTU, 9600 8N1: an energy meter (unit 1) and a relay board (unit 2), asked every 2 s
  ${scalePath}   raw: a scale that reports every 2 s; its frames go to a webhook

Try, in another terminal:
  TOKEN=$(${login} | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  # voltages of the meter, two registers each
  curl -s ${bus}/rest/request -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
    -d '{"unitId":1,"fc":4,"address":0,"quantity":6}'
  # switch relay 3 on
  curl -s ${bus}/rest/request -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
    -d '{"unitId":2,"fc":5,"address":2,"quantity":1,"values":[1]}'
  # zero the scale: Z, carriage return, line feed
  curl -s ${url}${portPath(scalePath)}/rest/tx -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
    -d '{"hex":"5A 0D 0A"}'

Ctrl-C stops everything; nothing is kept.
`
}

export default { run }
