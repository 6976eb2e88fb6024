/** A real MQTT broker, Debian's mosquitto, and a client that plays the devices behind it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync, type IClientOptions } from 'mqtt'
import { freePort } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'

/**
 * @param more lines of its configuration; without any everybody may connect
 * @param options of the client that plays the devices, where it has to do more than to connect
 */
export async function startBroker(t: Owner, more: readonly string[] = [], options: IClientOptions = {}) {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'broker-'))
  const file = join(folder, 'mosquitto.conf')
  writeFileSync(
    file,
    [`listener ${port} 127.0.0.1`, ...(more.length > 0 ? more : ['allow_anonymous true']), ''].join('\n'),
  )
  let child = begin()
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  function begin() {
    return spawn('/usr/sbin/mosquitto', ['-c', file], { stdio: 'ignore' })
  }

  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }

  async function client() {
    let found: Awaited<ReturnType<typeof connectAsync>> | undefined
    await until('the broker is there', async () => {
      const own = { ...options, reconnectPeriod: 0 }
      const scheme = options.ca === undefined ? 'mqtt' : 'mqtts'
      found = await connectAsync(`${scheme}://127.0.0.1:${port}`, own, false).catch(() => undefined)
      return found !== undefined
    })
    const peer = found as NonNullable<typeof found>
    t.teardown(() => peer.endAsync(true))
    return peer
  }
  return {
    port,
    stop,
    start: () => {
      child = begin()
    },
    /** The devices: what reaches `topics` is in `heard`; `say` publishes, and the broker keeps it. */
    async devices(topics: readonly string[] = []) {
      const peer = await client()
      const heard: [topic: string, text: string][] = []
      peer.on('message', (topic, payload) => heard.push([topic, payload.toString()]))
      if (topics.length > 0) await peer.subscribeAsync([...topics])
      return {
        heard,
        peer,
        say: (topic: string, text: string | Buffer, isKept = true) =>
          peer.publishAsync(topic, text, { qos: 1, retain: isKept }),
      }
    },
  }
}
