/** Many raw lines at once, each loaded both ways to the capacity of 115200 baud: the gateway's cost and losses. */
import { startGateway } from './gateway-process.ts'
import { compileHarness, startHarness } from './line-harness.ts'

/** One period of full load on all lines. */
export interface FullLoad {
  /** Percent of one core, all threads of the process. */
  cpuPercent: number
  /** Bytes sent both ways, and those that did not arrive or were not counted. */
  bytes: number
  lost: number
  /** Frames published per second. */
  framesPerSecond: number
  /** Of these, received by the WebSocket listener; undefined without one. */
  heardPerSecond: number | undefined
}

/** Frames of 64 bytes, as load-bench.cc sends them. */
const FRAMES = { protocol: 'raw', settings: { framing: 'delimiter', delimiter_hex: '0A' } }

/**
 * @param seconds of each period; the first is without a WebSocket listener, the second with one
 * @throws Error if a byte arrives corrupted
 */
export async function measureFullLoad(root: string, lines: number, seconds: number): Promise<FullLoad[]> {
  const harness = await startHarness(compileHarness(root, 'load-bench'), lines)
  const gateway = await startGateway(root)
  const total = async () => {
    const sum = { rxBytes: 0, txBytes: 0, rxFrames: 0, txFrames: 0, cutFrames: 0 }
    for (const device of harness.devices) {
      const counters = await gateway.counters(device)
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counters[key] ?? 0
    }
    return sum
  }

  async function period(ports: number[], heard?: () => number): Promise<FullLoad> {
    const [before, heardBefore, cpuBefore] = [await total(), heard?.() ?? 0, gateway.cpuSeconds()]
    const answer = await harness.measure(`load ${seconds} ${ports.join(' ')}`)
    const usedSeconds = gateway.cpuSeconds() - cpuBefore
    if (answer.error !== undefined) throw new Error(`full load: ${answer.error}`)
    const { seconds: tookSeconds = 0, bytes = 0, lost = 0 } = answer
    const after = await total()
    const counted = after.rxBytes + after.txBytes - before.rxBytes - before.txBytes
    const frames = after.rxFrames + after.txFrames - before.rxFrames - before.txFrames
    return {
      cpuPercent: (100 * usedSeconds) / tookSeconds,
      bytes,
      lost: lost + Math.abs(bytes - counted) + after.cutFrames,
      framesPerSecond: frames / tookSeconds,
      heardPerSecond: heard && (heard() - heardBefore) / tookSeconds,
    }
  }

  try {
    const ports: number[] = []
    for (const device of harness.devices) ports.push(await gateway.addLine(device, FRAMES))
    const alone = await period(ports)
    return [alone, await period(ports, await gateway.listen())]
  } finally {
    await gateway.stop()
    harness.stop()
  }
}
