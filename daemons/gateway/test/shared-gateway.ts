/**
 * One gateway for several tests of a file, because starting and setting up one takes longer than most of these tests.
 */
import t from 'tap'
import { openPty, type Pty } from '#native/serial/index.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'

const started = new Map<string, Promise<RunningGateway>>()

/**
 * The gateway with these settings, set up; it ends with the file. A test opens its lines with `openPort`, and they end
 * with the test.
 */
export function sharedGateway(sets: string[] = []): Promise<RunningGateway> {
  const name = sets.join('\n')
  const known = started.get(name)
  if (known !== undefined) return known
  const gateway = start(sets)
  started.set(name, gateway)
  // This process may read the next test file, too.
  t.teardown(() => started.delete(name))
  return gateway
}

/**
 * A line that no other test uses. It stays open to the end of the file: what its units still owe is remembered under
 * its name, even without the port, and the number of a closed pty is given to the next one.
 */
export function ptyOfFile(): Pty {
  const pty = openPty()
  t.teardown(() => pty.close())
  return pty
}

async function start(sets: string[]): Promise<RunningGateway> {
  const gateway = await startGateway(t, { sets })
  await gateway.setUp()
  return gateway
}
