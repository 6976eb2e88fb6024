/**
 * Makes serialport bundleable. Only its `SerialPort.list()` is used, which needs no addon; but importing the package
 * loads its own addon, which is looked up beside the package and so never found from a bundle.
 */
import type { Plugin } from 'esbuild'

/**
 * An esbuild plugin that replaces `node-gyp-build` inside @serialport/bindings-cpp with an empty addon: its functions
 * then report "not implemented", and its list, plain JavaScript around udevadm, works as it is.
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
