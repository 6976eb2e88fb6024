/**
 * The TCP-to-serial bridges that gateway and board are compared with: socat, ser2net, mbusd. A missing one is named,
 * and its start returns undefined.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { freePort } from '#kit/test/free-port.ts'

/** A running bridge. `stop` ends it and removes its files. */
export interface Bridge {
  port: number
  stop(): Promise<void>
}

function isThere(program: string): boolean {
  const folders = program.includes('/') ? [''] : (process.env.PATH ?? '').split(delimiter)
  const isFound = folders.some((folder) => {
    try {
      accessSync(resolve(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
  if (!isFound) console.log(`${program} is not installed: it is left out`)
  return isFound
}

/** Ends a process and waits for it. */
export async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/**
 * socat as in its manual, with TCP_NODELAY. One process per client, restarted when it ends: with `fork` the last
 * client's process would still read the line while the next is measured.
 */
export async function startSocat(device: string): Promise<Bridge | undefined> {
  if (!isThere('socat')) return undefined
  const port = await freePort()
  const listen = `TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,nodelay`
  let isStopped = false
  let child = start()
  function start(): ChildProcess {
    const started = spawn('socat', ['-t0.1', listen, `${device},raw,echo=0`], { stdio: 'ignore' })
    started.once('exit', () => {
      if (!isStopped) child = start()
    })
    return started
  }
  return {
    port,
    stop() {
      isStopped = true
      return end(child)
    },
  }
}

/** ser2net with nodelay on and chardelay off, its fastest settings. */
export async function startSer2net(device: string): Promise<Bridge | undefined> {
  return startSer2netOn([device], '')
}

/** The same with Telnet and RFC 2217. */
export async function startSer2netTelnet(device: string): Promise<Bridge | undefined> {
  return startSer2netOn([device], 'telnet(rfc2217),')
}

/** One ser2net for several devices; `ports` has one for each, `port` is the first. */
export async function startSer2netOn(
  devices: readonly string[],
  filter: '' | 'telnet(rfc2217),',
): Promise<(Bridge & { ports: number[]; pid: number }) | undefined> {
  if (!isThere('ser2net')) return undefined
  const ports: number[] = []
  for (const _ of devices) ports.push(await freePort())
  const folder = mkdtempSync(join(tmpdir(), 'ser2net-'))
  const config = devices.flatMap((device, index) => [
    `connection: &line${index}`,
    `  accepter: ${filter}tcp(nodelay=true),127.0.0.1,${ports[index]}`,
    `  connector: serialdev,${device},115200n81,local`,
    '  options:',
    '    chardelay: false',
    '    max-connections: 4',
    '',
  ])
  writeFileSync(join(folder, 'ser2net.yaml'), config.join('\n'))
  const child = spawn('ser2net', ['-n', '-c', join(folder, 'ser2net.yaml')], { stdio: 'ignore' })
  return {
    port: ports[0] ?? 0,
    ports,
    pid: child.pid ?? 0,
    async stop() {
      await end(child)
      rmSync(folder, { recursive: true })
    },
  }
}

/**
 * mbusd from PATH or $MBUSD, with the shortest pause between requests it allows (-R 1). Debian has no package of it.
 */
export async function startMbusd(device: string): Promise<Bridge | undefined> {
  const program = process.env.MBUSD ?? 'mbusd'
  if (!isThere(program)) return undefined
  const port = await freePort()
  const line = ['-p', device, '-s', '115200', '-m', '8n1']
  const child = spawn(program, ['-d', '-v0', '-L-', ...line, '-A', '127.0.0.1', '-P', String(port), '-R', '1'], {
    stdio: 'ignore',
  })
  return { port, stop: () => end(child) }
}
