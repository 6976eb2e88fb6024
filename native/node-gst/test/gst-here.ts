/** Why tests of sound cannot run on this machine, or false if they can: they need GStreamer and its plugins. */
import { execFileSync } from 'node:child_process'

/**
 * For the `skip` of a test. Checks in a separate process, since a library that failed to load is never looked up again.
 */
export function gstMissing(): string | false {
  const program = `import { startGst } from '${import.meta.dirname}/../index.ts'; startGst()`
  try {
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' })
    return false
  } catch {
    return 'GStreamer is not installed'
  }
}
