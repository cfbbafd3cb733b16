export default function Page() {
  return 'the app';
}
