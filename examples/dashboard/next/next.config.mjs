/** @type {import('next').NextConfig} */
export default {
  // Loaded by Node, not bundled.
  serverExternalPackages: ['pg-tock'],
};
