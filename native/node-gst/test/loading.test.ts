import { execFileSync } from 'node:child_process'
import t from 'tap'
import { gstMissing } from './gst-here.ts'

/** Whether a process that runs the program has the library of GStreamer in its memory. */
function loads(program: string): boolean {
  const index = `${import.meta.dirname}/../index.ts`
  const look =
    "import { readFileSync } from 'node:fs'; console.log(/libgstreamer/.test(readFileSync('/proc/self/maps', 'latin1')))"
  const whole = `import * as gst from '${index}'; ${look.split('; ')[0]}; ${program}; ${look.split('; ')[1]}`
  return execFileSync(process.execPath, ['--input-type=module', '-e', whole], { encoding: 'utf8' }).trim() === 'true'
}

t.test('a process that makes no sound has no GStreamer in its memory', async (t) => {
  t.equal(loads(''), false)
})

t.test('the first call loads it', { skip: gstMissing() }, async (t) => {
  t.equal(loads('gst.startGst()'), true)
})
