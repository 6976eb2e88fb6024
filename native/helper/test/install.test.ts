/** How an image gets to the installer, and what the installer gets. */
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startHelper } from './running-helper.ts'

t.test('B.ota install runs the installer with the image, below the state folder alone', async (t) => {
  const helper = await startHelper(t)
  helper.put('state/firmware/image', 'the image')
  helper.put('secret', 'not for you')
  const install = (path: string) => helper.say(`install ${path}\n`)
  const { state, root } = helper
  t.match(await install(`${state}/firmware/image`), /^error no_installer there is no /)
  helper.put('install', `#!/bin/sh\necho "$1 $(cat "$1")" >${root}/installed\n`)
  t.match(await install(`${state}/firmware/image`), /^error no_installer .* must be a program/, 'not executable')
  chmodSync(join(root, 'install'), 0o777)
  t.match(await install(`${state}/firmware/image`), /^error no_installer .* alone can write/, 'anybody could change it')
  chmodSync(join(root, 'install'), 0o755)
  symlinkSync(join(root, 'secret'), join(state, 'link'))
  symlinkSync(root, join(state, 'folder'))
  mkdirSync(join(state, 'deep'))
  writeFileSync(join(state, 'empty'), '')
  const bad = ['link', 'folder/secret', '../secret', 'deep/../../secret', 'deep', 'empty', 'absent', '']
  for (const name of bad) t.match(await install(`${state}/${name}`), /^error (bad_path|bad_request)/, name)
  t.match(await install(join(root, 'secret')), /^error bad_path/)
  t.match(await install('/etc/hostname'), /^error bad_path/)
  t.notOk(existsSync(join(root, 'installed')))
  t.equal(await install(`${state}/firmware/image`), 'ok\n')
  t.equal(helper.file('installed'), '/dev/stdin the image\n')
})

const isRoot = process.getuid?.() === 0

t.test(
  "B.ota a mapped state folder is the board's, though nobody owns it here",
  { skip: !isRoot && 'needs root' },
  async (t) => {
    const NOBODY = 65534
    const helper = await startHelper(t)
    helper.put('state/image', 'the image')
    helper.put('install', `#!/bin/sh\ncat "$1" >${helper.root}/installed\n`)
    chmodSync(join(helper.root, 'install'), 0o755)
    const { state } = helper
    chownSync(`${state}/image`, NOBODY, NOBODY)
    t.match(
      await helper.say(`install ${state}/image\n`),
      /^error bad_path .* whoever asks/,
      'in a folder that is not mapped',
    )
    chownSync(state, NOBODY, NOBODY)
    t.equal(await helper.say(`install ${state}/image\n`), 'ok\n')
    chownSync(`${state}/image`, 1, 1)
    t.match(await helper.say(`install ${state}/image\n`), /^error bad_path .* whoever asks/, 'of somebody else')
  },
)

t.test('B.ota an installer that fails, that hangs, or that runs already is told', async (t) => {
  const helper = await startHelper(t, ['--install-seconds', '3'])
  helper.put('state/image', 'the image')
  const install = (script: string) => {
    helper.put('install', `#!/bin/sh\n${script}\n`)
    chmodSync(join(helper.root, 'install'), 0o755)
    return helper.say(`install ${helper.state}/image\n`)
  }
  t.match(
    await install('echo slot B is not there >&2; exit 3'),
    /^error install_failed .* ended with 3: slot B is not there/,
  )
  t.match(await install('kill -9 $$'), /^error install_failed .* was ended by a signal/)
  const hangs = install(`sleep 60 & echo $! >${helper.root}/pid; wait`)
  while (!existsSync(join(helper.root, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 10))
  t.match(await helper.say(`install ${helper.state}/image\n`), /^error busy an image is being installed already/)
  t.match(await hangs, /^error install_failed .* took longer than the 3 s it has/)
  const stat = join('/proc', helper.file('pid').trim(), 'stat')
  const isGone = () => !existsSync(stat) || / Z /.test(readFileSync(stat, 'utf8'))
  for (let tries = 0; tries < 200 && !isGone(); tries++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.ok(isGone(), 'with all that it had started')
})

t.test('an installer has an environment of its own and no descriptor of ours', async (t) => {
  process.env.SECRET_OF_TEST = 'x'
  t.teardown(() => void delete process.env.SECRET_OF_TEST)
  const helper = await startHelper(t)
  helper.put('state/image', 'the image')
  helper.put('install', `#!/bin/sh\nenv >${helper.root}/env; ls -l /proc/self/fd >${helper.root}/fd\n`)
  chmodSync(join(helper.root, 'install'), 0o755)
  t.equal(await helper.say(`install ${helper.state}/image\n`), 'ok\n')
  t.notMatch(helper.file('env'), /SECRET_OF_TEST/)
  t.notMatch(helper.file('fd'), /socket:|signalfd/)
})
