/** Why tests of sound cannot run on this machine, or false: they need GStreamer and its plugins. */
import { execFileSync } from 'node:child_process'

/** For the `skip` of a test. Asks a process of its own: a library that was not found is not looked for again. */
export function gstMissing(): string | false {
  const program = `import { startGst } from '${import.meta.dirname}/../index.ts'; startGst()`
  try {
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' })
    return false
  } catch {
    return 'GStreamer is not installed'
  }
}
