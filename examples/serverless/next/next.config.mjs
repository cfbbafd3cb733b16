/** @type {import('next').NextConfig} */
export default {
  output: 'standalone',
  // Loaded by Node, not bundled.
  serverExternalPackages: ['pg-tock'],
};
