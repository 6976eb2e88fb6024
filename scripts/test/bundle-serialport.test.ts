import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { bundleFile } from '../bundle.ts'

const ROOT = dirname(dirname(import.meta.dirname))

t.test("serialport's listing works in a bundle, where its own addon cannot be found", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'serialport-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const entry = join(folder, 'entry.ts')
  const serialport = join(ROOT, 'node_modules/serialport/dist/index.js')
  writeFileSync(
    entry,
    `import { SerialPort } from '${serialport}'
     process.env.PATH = '/nonexistent'
     SerialPort.list().catch((error) => console.log(error.code, error.path))`,
  )
  const outfile = join(folder, 'build/entry.mjs')
  await bundleFile(ROOT, { entry, outfile })
  const said = execFileSync(process.execPath, [outfile], { encoding: 'utf8' })
  t.equal(said, 'ENOENT udevadm\n', 'imported, and went as far as starting udevadm')
})
