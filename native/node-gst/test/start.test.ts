/** Tests of how GStreamer is started in a process. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import t from 'tap'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()

/** Starts it in a process of its own. @returns its version, and the plugins that are loaded then */
function started(env: NodeJS.ProcessEnv): { version: string; plugins: string[] } {
  const program = `import { readFileSync } from 'node:fs'
    import { startGst } from '${import.meta.dirname}/../index.ts'
    const { version } = startGst()
    const plugins = readFileSync('/proc/self/maps', 'utf8').match(/gstreamer-1.0\\/libgst[a-z0-9]+/g)
    console.log(JSON.stringify({ version, plugins: [...new Set(plugins)] }))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' }))
}

t.test('its start makes no file, changes none, and loads what sound needs alone', { skip }, async (t) => {
  const modes = () => ['/dev/null', '/dev/zero'].map((path) => statSync(path).mode)
  const before = modes()
  const home = t.testdir({})
  // Would be started in place of the program that looks into plugins.
  const scanner = '/proc/self/none/scanner'
  const { plugins, version } = started({ ...process.env, HOME: home, GST_PLUGIN_SCANNER: scanner })
  t.match(version, /GStreamer 1\./)
  t.ok(plugins.length > 5 && plugins.length <= 16, plugins.join(' '))
  t.same(modes(), before)
  t.equal(execFileSync('find', [home, '-mindepth', '1'], { encoding: 'utf8' }), '')
})
