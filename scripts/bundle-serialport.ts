/**
 * Lets serialport go into a bundle. Only its `SerialPort.list()` is used, and that needs no addon; but importing the
 * package loads the addon of its own binding, which is looked for beside the package and so never found from a bundle.
 */
import type { Plugin } from 'esbuild'

/**
 * An esbuild plugin that answers `node-gyp-build` inside @serialport/bindings-cpp by an empty addon: its functions then
 * say "not implemented", and its list, plain JavaScript around udevadm, works as it is.
 */
export function serialportPlugin(_root?: string): Plugin {
  return {
    name: 'serialport',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^node-gyp-build$/ }, ({ importer }) =>
        importer.includes('@serialport/bindings-cpp') ? { path: 'no-addon', namespace: 'serialport' } : undefined,
      )
      esbuild.onLoad({ filter: /.*/, namespace: 'serialport' }, () => ({
        contents: 'module.exports = () => ({})',
        loader: 'js',
      }))
    },
  }
}
