import DefaultTheme from 'vitepress/theme-without-fonts';
import './site.css';
import MermaidDiagram from './MermaidDiagram.vue';
import { repairSearchBox } from './search-box.mjs';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
    if (!import.meta.env.SSR) repairSearchBox();
  },
};
